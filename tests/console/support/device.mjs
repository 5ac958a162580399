/** The device that shows an administrator's codes: RFC 6238, as every app for such codes counts them. */

import { createHmac } from "node:crypto";

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const STEP_SECONDS = 30;

/**
 * The code that a device shows.
 * @param {string} typed the secret as it is typed into the device
 * @param {number} [steps] so many steps of its clock from now on
 */
export function code(typed, steps = 0) {
  const bits = [...typed.replace(/\s/g, "")].map((letter) => LETTERS.indexOf(letter).toString(2).padStart(5, "0"));
  const secret = Buffer.from(bits.join("").match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 1000 / STEP_SECONDS) + steps));
  const digest = createHmac("sha1", secret).update(counter).digest();
  const at = digest[digest.length - 1] & 15;
  return String((digest.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}
