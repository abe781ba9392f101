import { existsSync } from 'node:fs';
import { whatToInstall } from './what-to-install.js';

// Plain JavaScript, so that every Node of today says what is missing in place of a stack trace.
const missing = whatToInstall({
  version: process.versions.node,
  runsTypeScript: Boolean(process.features.typescript),
  isInstalled: existsSync(new URL('../node_modules/yaml', import.meta.url)),
});
if (missing === null) {
  await import(new URL('start.ts', import.meta.url).href);
} else {
  process.stderr.write(`${missing}\n`);
  process.exitCode = 2;
}
