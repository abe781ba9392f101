import { generateCrds } from './generate-crds.ts';

/** Writes everything that is derived from another file of the repository; tests say when it is out of date. */
await generateCrds();
