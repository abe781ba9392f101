import { readFileSync, rmSync, statSync } from 'node:fs';
import { build } from 'esbuild';

/**
 * Bundles the Functions app and the relay. One entry each, split where the code loads lazily, so that a cold start reads
 * only what its first message needs. ESM output needs `require` for the CommonJS packages inside it.
 */
const banner = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

const common = {
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  sourcemap: 'linked',
  legalComments: 'none',
  logLevel: 'warning',
  banner: { js: banner },
  chunkNames: 'chunks/[name]-[hash]',
} as const;

rmSync('dist', { recursive: true, force: true });
const apps = await build({
  ...common,
  entryPoints: ['functions/main.ts'],
  outdir: 'dist/functions',
  // Supplied by the Functions host.
  external: ['@azure/functions-core'],
  metafile: true,
});
await build({ ...common, splitting: false, entryPoints: { relay: 'relay/main.ts' }, outdir: 'dist/relay' });

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
const bytes = Object.keys(apps.metafile.outputs)
  .filter((path) => path.endsWith('.js'))
  .reduce((sum, path) => sum + statSync(path).size, 0);
const entry = statSync('dist/functions/main.js').size;
console.log(
  `nodewright ${version}: functions ${kib(bytes)} (entry ${kib(entry)}), relay ${kib(statSync('dist/relay/relay.js').size)}`,
);

function kib(size: number): string {
  return `${Math.ceil(size / 1024)} KiB`;
}
