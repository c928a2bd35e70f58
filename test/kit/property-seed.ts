/** Loaded before every test file: TERSE_TEST_SEED also repeats a property that failed; fast-check prints its seed. */
const given = process.env.TERSE_TEST_SEED;
if (given !== undefined) {
  const fc = await import('fast-check');
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(given) });
}
