//! Tables of metrics: the kind, the name, the labels and the help of each are in one place.

use prometheus::{
    CounterVec, Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec,
    IntGauge, IntGaugeVec, Registry, core::Collector,
};

/// A kind of metric.
pub trait Metric: Collector + Clone + 'static {
    /// One of that kind. Those without labels or buckets ignore these.
    ///
    /// # Errors
    /// Prometheus does not accept the name or a label.
    fn of(options: HistogramOpts, labels: &[&str]) -> prometheus::Result<Self>;
}

macro_rules! kinds {
    ($($kind:ident: $options:ident, $labels:ident => $made:expr;)+) => {$(
        impl Metric for $kind {
            fn of($options: HistogramOpts, $labels: &[&str]) -> prometheus::Result<Self> {
                $made
            }
        }
    )+};
}

kinds! {
    IntCounter: options, _labels => IntCounter::with_opts(options.common_opts);
    IntCounterVec: options, labels => IntCounterVec::new(options.common_opts, labels);
    CounterVec: options, labels => CounterVec::new(options.common_opts, labels);
    IntGauge: options, _labels => IntGauge::with_opts(options.common_opts);
    IntGaugeVec: options, labels => IntGaugeVec::new(options.common_opts, labels);
    Gauge: options, _labels => Gauge::with_opts(options.common_opts);
    GaugeVec: options, labels => GaugeVec::new(options.common_opts, labels);
    Histogram: options, _labels => Histogram::with_opts(options);
    HistogramVec: options, labels => HistogramVec::new(options, labels);
}

/// A registered metric.
///
/// # Panics
/// Prometheus does not accept its name or a label, or the registry has one of the same name.
#[expect(
    clippy::expect_used,
    reason = "names and labels are constants of those who call, each entered once"
)]
pub fn entered<T: Metric>(registry: &Registry, options: HistogramOpts, labels: &[&str]) -> T {
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
            $($metric: $kind,)+
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
