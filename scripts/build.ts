import { readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { build, type Plugin } from 'esbuild';

/**
 * Bundles the Functions app and the relay. One entry each, split where the code loads lazily, so that a cold start reads
 * only what its first message needs. ESM output needs `require` for the CommonJS packages inside it.
 */
const banner = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/**
 * An ESM import of `http` reads every name that it exports, one of which loads Node's own fetch: 15 ms of CPU in a cold
 * start, and only the reading of prices uses it. Taken as CommonJS takes it, a name is read when it is used.
 */
const httpOnDemand: Plugin = {
  name: 'http-on-demand',
  setup: (bundle) => {
    bundle.onResolve({ filter: /^(?:node:)?http$/ }, () => ({ path: 'http', namespace: 'on-demand' }));
    bundle.onLoad({ filter: /^http$/, namespace: 'on-demand' }, () => ({
      contents: "module.exports = process.getBuiltinModule('node:http');",
    }));
  },
};

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

// Built aside and moved into place at the end, so that nobody who starts meanwhile finds half an app.
const aside = `dist.${process.pid}`;
rmSync(aside, { recursive: true, force: true });
const apps = await build({
  ...common,
  plugins: [httpOnDemand],
  entryPoints: ['functions/main.ts'],
  outdir: `${aside}/functions`,
  // Supplied by the Functions host.
  external: ['@azure/functions-core'],
  metafile: true,
});
await build({
  ...common,
  plugins: [httpOnDemand],
  splitting: false,
  entryPoints: { relay: 'relay/main.ts' },
  outdir: `${aside}/relay`,
});

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
const bytes = Object.keys(apps.metafile.outputs)
  .filter((path) => path.endsWith('.js'))
  .reduce((sum, path) => sum + statSync(path).size, 0);
const entry = statSync(`${aside}/functions/main.js`).size;
console.log(
  `nodewright ${version}: functions ${kib(bytes)} (entry ${kib(entry)}), relay ${kib(statSync(`${aside}/relay/relay.js`).size)}`,
);

rmSync('dist', { recursive: true, force: true });
renameSync(aside, 'dist');

function kib(size: number): string {
  return `${Math.ceil(size / 1024)} KiB`;
}
