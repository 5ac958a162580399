//! A picture of pixels, with letters from a bitmap font, so that no font of the machine is needed.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};
use plotters::backend::{BitMapBackend, PixelFormat, RGBPixel};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    text_anchor::{HPos, VPos},
};

// The letters are as high as a line of text in a picture (`FINE`).
const HEIGHT: RasterHeight = RasterHeight::Size16;
const WEIGHT: FontWeight = FontWeight::Regular;

/// Pixels, three bytes each.
pub(super) struct Pixels {
    size: (u32, u32),
    bytes: Vec<u8>,
}

type Error = <BitMapBackend<'static, RGBPixel> as DrawingBackend>::ErrorType;
type PixelsResult = Result<(), DrawingErrorKind<Error>>;

impl Pixels {
    pub(super) fn new(size: (u32, u32)) -> Self {
        let bytes = vec![0; size.0 as usize * size.1 as usize * RGBPixel::PIXEL_SIZE];
        Self { size, bytes }
    }

    /// As a PNG file.
    pub(super) fn png(&self) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.size.0, self.size.1);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.bytes)?;
        writer.finish()?;
        Ok(file)
    }

    fn bitmap(&mut self) -> Result<BitMapBackend<'_, RGBPixel>, DrawingErrorKind<Error>> {
        BitMapBackend::with_buffer_and_format(&mut self.bytes, self.size)
            .map_err(DrawingErrorKind::DrawingError)
    }
}

impl DrawingBackend for &mut Pixels {
    type ErrorType = Error;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> PixelsResult {
        Ok(())
    }

    fn present(&mut self) -> PixelsResult {
        Ok(())
    }

    fn draw_pixel(&mut self, at: BackendCoord, color: BackendColor) -> PixelsResult {
        self.bitmap()?.draw_pixel(at, color)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
        fill: bool,
    ) -> PixelsResult {
        self.bitmap()?.draw_rect(from, to, style, fill)
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        at: BackendCoord,
    ) -> PixelsResult {
        let (width, height) = (get_raster_width(WEIGHT, HEIGHT) as i32, HEIGHT.val() as i32);
        let length = width * text.chars().count() as i32;
        let anchor = style.anchor();
        let left = match anchor.h_pos {
            HPos::Left => 0,
            HPos::Center => -length / 2,
            HPos::Right => -length,
        };
        let top = match anchor.v_pos {
            VPos::Top => 0,
            VPos::Center => -height / 2,
            VPos::Bottom => -height,
        };
        let color = style.color();
        for (place, letter) in (0..).zip(text.chars()) {
            let raster = get_raster(letter, WEIGHT, HEIGHT);
            let Some(raster) = raster.or_else(|| get_raster('?', WEIGHT, HEIGHT)) else {
                continue;
            };
            for (y, row) in (0..).zip(raster.rows()) {
                for (x, strength) in (0..).zip(row).filter(|(_, strength)| **strength > 0) {
                    let (x, y): (i32, i32) = (left + place * width + x, top + y);
                    let (x, y) = style.transform().transform(x, y);
                    let alpha = color.alpha * f64::from(*strength) / 255.0;
                    self.draw_pixel((at.0 + x, at.1 + y), BackendColor { alpha, ..color })?;
                }
            }
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        _: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Error>> {
        let width = get_raster_width(WEIGHT, HEIGHT) * text.chars().count();
        Ok((width as u32, HEIGHT.val() as u32))
    }
}
