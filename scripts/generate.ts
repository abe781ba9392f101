import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { generateCrds } from './generate-crds.ts';
import { renderReasonsPage } from './reasons-page.ts';
import { writeManifests } from './render-manifests.ts';
import { renderScreenPages } from './screens/pages.ts';

/** Writes everything that is derived from another file of the repository; tests say when it is out of date. */
await generateCrds();
await writeManifests();
const root = resolve(import.meta.dirname, '..');
for (const [path, text] of [['docs/reasons.md', renderReasonsPage()] as const, ...renderScreenPages()]) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}
