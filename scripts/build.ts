import { mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { build, type Plugin } from 'esbuild';

/**
 * Bundles the Functions app and the relay, or with the argument `relay` the relay alone. One entry each, split where
 * the code loads lazily, so that a cold start reads only what its first message needs. ESM output needs `require` for
 * the CommonJS packages inside it.
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

const wanted = process.argv.slice(2);
if (wanted.some((part) => part !== 'relay')) {
  console.error(`node scripts/build.ts takes nothing, or relay: not ${wanted.join(' ')}`);
  process.exit(2);
}

// Built aside and moved into place at the end, so that nobody who starts meanwhile finds half an app.
const aside = `dist.${process.pid}`;
rmSync(aside, { recursive: true, force: true });
await buildRelay(`${aside}/relay`);
const sizes = [`relay ${kib(statSync(`${aside}/relay/relay.js`).size)}`];
if (wanted.length === 0) sizes.unshift(await buildFunctions(`${aside}/functions`));

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
console.log(`nodewright ${version}: ${sizes.join(', ')}`);

if (wanted.length === 0) replace('dist', aside);
else {
  mkdirSync('dist', { recursive: true });
  replace('dist/relay', `${aside}/relay`);
  rmSync(aside, { recursive: true });
}

/** Says how large the app is. */
async function buildFunctions(outdir: string): Promise<string> {
  const apps = await build({
    ...common,
    plugins: [httpOnDemand],
    entryPoints: ['functions/main.ts'],
    outdir,
    // Supplied by the Functions host.
    external: ['@azure/functions-core'],
    metafile: true,
  });
  const bytes = Object.keys(apps.metafile.outputs)
    .filter((path) => path.endsWith('.js'))
    .reduce((sum, path) => sum + statSync(path).size, 0);
  return `functions ${kib(bytes)} (entry ${kib(statSync(`${outdir}/main.js`).size)})`;
}

async function buildRelay(outdir: string): Promise<void> {
  await build({
    ...common,
    plugins: [httpOnDemand],
    splitting: false,
    entryPoints: { relay: 'relay/main.ts' },
    outdir,
  });
}

function replace(folder: string, by: string): void {
  rmSync(folder, { recursive: true, force: true });
  renameSync(by, folder);
}

function kib(size: number): string {
  return `${Math.ceil(size / 1024)} KiB`;
}
