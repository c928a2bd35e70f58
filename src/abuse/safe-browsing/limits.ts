/** How far a Safe Browsing server is trusted with our time and memory. */
export const listTimeMaxMs = 60_000;
/** All lists, uncompressed, several times over. */
export const listBytesMax = 64 * 1024 * 1024;
/** Whoever makes a link waits much less; what comes later is still good for the next who asks. */
export const hashTimeMaxMs = 2_000;
export const hashBytesMax = 1024 * 1024;
/** Requests for hashes at the same time; beyond that a prefix counts as not listed. */
export const hashRequestsMax = 16;
/** Longer times than this are not believed, whoever names them. */
export const durationMaxMs = 24 * 60 * 60_000;
/** A list that was not confirmed for this long no longer blocks anything. */
export const listAgeMaxMs = 30 * 60_000;
