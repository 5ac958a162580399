//! Which messages of a tree belong to the continued conversation.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parent {
    /// It has none: the conversation begins here.
    Root,
    Node(usize),
    /// A node that is not in the file.
    Missing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeStatus {
    /// On the path from the beginning to the end.
    Taken,
    /// On a branch beside the path, or from another beginning than the one that the path has.
    Other,
    /// Its ancestors lead neither to the path nor to a beginning, or the path has none itself.
    Detached,
}

/// The indices of the nodes from the beginning of the conversation to its end, and the status of each node. Each node is
/// visited a fixed number of times, whatever the parents are. The end is `last`; `None` where the file names none, or
/// one that it does not hold.
pub(crate) fn path<T: Ord>(
    parents: &[Parent],
    last: Option<usize>,
    time_of: impl Fn(usize) -> Option<T>,
) -> (Vec<usize>, Vec<NodeStatus>) {
    let mut statuses = vec![None; parents.len()];
    let mut path = Vec::new();
    let last = last.filter(|last| *last < parents.len());
    let mut next = last.or_else(|| latest_leaf(parents, time_of));
    while let Some(at) = next {
        // Circular parents end the path where it meets itself.
        if statuses[at].is_some() {
            break;
        }
        statuses[at] = Some(NodeStatus::Taken);
        path.push(at);
        next = above(parents, at);
    }
    path.reverse();
    // Where the path is broken, another beginning may be its own.
    let is_whole = path
        .first()
        .is_some_and(|first| parents[*first] == Parent::Root);
    let beginning = if is_whole {
        NodeStatus::Other
    } else {
        NodeStatus::Detached
    };
    // After the path, since other chains end at its statuses.
    for at in 0..parents.len() {
        set_status(parents, &mut statuses, beginning, at);
    }
    let statuses = statuses
        .into_iter()
        .map(|status| status.unwrap_or(NodeStatus::Detached));
    (path, statuses.collect())
}

fn above(parents: &[Parent], at: usize) -> Option<usize> {
    match parents[at] {
        Parent::Node(parent) if parent < parents.len() => Some(parent),
        _ => None,
    }
}

/// Follows the ancestors of `at` to a known status; `beginning` is the status of those that lead to a beginning.
fn set_status(
    parents: &[Parent],
    statuses: &mut [Option<NodeStatus>],
    beginning: NodeStatus,
    at: usize,
) {
    let mut chain = Vec::new();
    let mut next = at;
    let status = loop {
        match statuses[next] {
            Some(NodeStatus::Detached) => break NodeStatus::Detached,
            Some(_) => break NodeStatus::Other,
            None => {}
        }
        // While a chain is followed its nodes count as detached, which makes a circular chain detached.
        statuses[next] = Some(NodeStatus::Detached);
        chain.push(next);
        match (parents[next], above(parents, next)) {
            (_, Some(parent)) => next = parent,
            (Parent::Root, None) => break beginning,
            _ => break NodeStatus::Detached,
        }
    };
    for at in chain {
        statuses[at] = Some(status);
    }
}

/// The end of a conversation that the file does not name: the latest leaf, the last one of several with that time.
/// Nodes without a time come before all others. Where no node is a leaf, all are compared.
fn latest_leaf<T: Ord>(parents: &[Parent], time_of: impl Fn(usize) -> Option<T>) -> Option<usize> {
    let mut is_parent = vec![false; parents.len()];
    for at in 0..parents.len() {
        if let Some(parent) = above(parents, at) {
            is_parent[parent] = true;
        }
    }
    let latest = |only_leaves: bool| {
        let leaves = (0..parents.len()).filter(|at| !only_leaves || !is_parent[*at]);
        leaves.max_by_key(|at| (time_of(*at), *at))
    };
    latest(true).or_else(|| latest(false))
}

#[cfg(test)]
mod tests {
    use super::{NodeStatus::*, Parent::*, *};

    #[test]
    fn branches_beginnings_and_broken_links_are_distinguished() {
        let parents = [
            Root,
            Node(0),
            Node(0),
            Node(1),
            Root,
            Missing,
            Node(5),
            Node(8),
            Node(7),
            Node(2),
        ];
        let (path, statuses) = path(&parents, Some(3), |_| None::<u8>);
        assert_eq!(path, [0, 1, 3]);
        let expected = [
            Taken, Taken, Other, Taken, Other, Detached, Detached, Detached, Detached, Other,
        ];
        assert_eq!(statuses, expected);
    }

    #[test]
    fn where_the_path_breaks_off_nothing_is_called_another_branch() {
        let parents = [Root, Node(0), Missing, Node(2), Node(2)];
        let (path, statuses) = path(&parents, Some(3), |_| None::<u8>);
        assert_eq!(path, [2, 3]);
        assert_eq!(statuses, [Detached, Detached, Taken, Taken, Other]);
    }

    #[test]
    fn a_circle_is_walked_once() {
        let parents = [Node(2), Node(0), Node(1), Node(0)];
        let (taken, statuses) = path(&parents, Some(1), |_| None::<u8>);
        assert_eq!(taken, [2, 0, 1]);
        assert_eq!(statuses, [Taken, Taken, Taken, Other]);
        assert_eq!(path(&[Node(1), Node(0)], None, |at| Some(2 - at)).0, [1, 0]);
        assert_eq!(path(&[Node(0)], Some(0), |_| None::<u8>).0, [0]);
    }
}
