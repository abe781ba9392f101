import * as fc from 'fast-check';

/** All laws of a run draw from the one seed that the run printed: see `print-seed.ts`. */
fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(process.env['FAST_CHECK_SEED']) });
