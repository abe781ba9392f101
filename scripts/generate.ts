import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { generateCrds } from './generate-crds.ts';
import { renderReasonsPage } from './reasons-page.ts';
import { writeManifests } from './render-manifests.ts';

/** Writes everything that is derived from another file of the repository; tests say when it is out of date. */
await generateCrds();
await writeManifests();
writeFileSync(join(resolve(import.meta.dirname, '..'), 'docs/reasons.md'), renderReasonsPage());
