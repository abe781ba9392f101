import { generateCrds } from './generate-crds.ts';
import { writeManifests } from './render-manifests.ts';

/** Writes everything that is derived from another file of the repository; tests say when it is out of date. */
await generateCrds();
await writeManifests();
