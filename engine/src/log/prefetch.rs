//! Asking the processor for memory before it is needed, where it has an instruction for that.

/// Have a cache line fetched that is read soon. A prefetch changes nothing and never faults, whatever the address.
#[inline]
pub fn prefetch_line<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: see above.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// The same for a line that is written soon.
#[inline]
pub fn prefetch_line_to_write<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: see above.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_ET0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
