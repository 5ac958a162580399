//! Tables of metrics: the kind, the name, the labels and the help of each are in one place.

use prometheus::{
    CounterVec, Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec,
    IntGauge, IntGaugeVec, Registry, core::Collector,
};

/// A kind of metric.
pub trait Metric: Collector + Clone + 'static {
    /// Whether each metric of this kind has labels.
    const HAS_LABELS: bool;

    /// One of that kind.
    ///
    /// # Errors
    /// Prometheus does not accept the name or a label.
    fn of(options: HistogramOpts, labels: &[&str]) -> prometheus::Result<Self>;
}

macro_rules! kinds {
    ($($kind:ident: $has_labels:literal, $options:ident, $labels:ident => $made:expr;)+) => {$(
        impl Metric for $kind {
            const HAS_LABELS: bool = $has_labels;

            fn of($options: HistogramOpts, $labels: &[&str]) -> prometheus::Result<Self> {
                $made
            }
        }
    )+};
}

kinds! {
    IntCounter: false, options, _labels => IntCounter::with_opts(options.common_opts);
    IntCounterVec: true, options, labels => IntCounterVec::new(options.common_opts, labels);
    CounterVec: true, options, labels => CounterVec::new(options.common_opts, labels);
    IntGauge: false, options, _labels => IntGauge::with_opts(options.common_opts);
    IntGaugeVec: true, options, labels => IntGaugeVec::new(options.common_opts, labels);
    Gauge: false, options, _labels => Gauge::with_opts(options.common_opts);
    GaugeVec: true, options, labels => GaugeVec::new(options.common_opts, labels);
    Histogram: false, options, _labels => Histogram::with_opts(options);
    HistogramVec: true, options, labels => HistogramVec::new(options, labels);
}

/// A registered metric.
///
/// # Panics
/// Its labels are not those of its kind, Prometheus does not accept its name or a label, or the registry has one of the
/// same name.
#[expect(
    clippy::expect_used,
    reason = "names and labels are constants of those who call, each entered once"
)]
pub fn entered<T: Metric>(registry: &Registry, options: HistogramOpts, labels: &[&str]) -> T {
    assert_eq!(
        T::HAS_LABELS,
        !labels.is_empty(),
        "labels are those of the kind"
    );
    let made = T::of(options, labels).expect("a name is that of a metric");
    registry
        .register(Box::new(made.clone()))
        .expect("a name is given once");
    made
}

/// Defines metrics that are registered together: `field: Kind = "name", "help" by ["label"] in BUCKETS;`, without labels
/// and buckets for those that have none.
#[macro_export]
macro_rules! metric_table {
    ($(#[$meta:meta])* $visibility:vis struct $table:ident {
        $($metric:ident: $kind:ident = $name:literal, $help:literal $(by [$($label:literal),+])? $(in $buckets:ident)?;)+
    }) => {
        $(#[$meta])*
        $visibility struct $table {
            $(pub(crate) $metric: $kind,)+
        }

        impl $table {
            fn in_registry(registry: &::prometheus::Registry) -> Self {
                Self {$(
                    $metric: $crate::entered_metric(
                        registry,
                        ::prometheus::HistogramOpts::new($name, $help)$(.buckets($buckets.to_vec()))?,
                        &[$($($label),+)?],
                    ),
                )+}
            }
        }
    };
}
