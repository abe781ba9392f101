import { cpSync, mkdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';

const root = resolve(import.meta.dirname, '../../..');

/** Claims of pods whose name begins so are planned wrongly: they list no size at all that could be launched. */
export const UNLUCKY = 'unlucky';

/** In place of the planner: itself, with a fault in what it says of some claims. */
const fault = `
export function planProvisioning(input, now) {
  const plan = soundPlanner(input, now);
  const claims = plan.claims.map((claim) => {
    if (!claim.pods.some(({ name }) => name.includes('/${UNLUCKY}'))) return claim;
    const requirements = claim.requirements.map((one) =>
      one.key === 'node.kubernetes.io/instance-type' ? { ...one, values: ['Standard_None'] } : one,
    );
    return { ...claim, requirements };
  });
  return { ...plan, claims };
}`;

const withFault: Plugin = {
  name: 'with-fault',
  setup: (bundle) => {
    bundle.onLoad({ filter: /core[\\/]plan-provisioning\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      const renamed = source.replace('export function planProvisioning(', 'function soundPlanner(');
      if (renamed === source) throw new Error('plan-provisioning.ts exports no planner');
      return { contents: `${renamed}${fault}`, loader: 'ts' };
    });
  },
};

/** Builds the app into `folder` as the product is built, but with a planner that has a fault. */
export async function buildFaultyApp(folder: string): Promise<string> {
  mkdirSync(join(folder, 'dist'), { recursive: true });
  for (const part of ['host.json', 'package.json', 'dist/relay']) {
    cpSync(join(root, part), join(folder, part), { recursive: true });
  }
  await build({
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    logLevel: 'warning',
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    plugins: [withFault],
    entryPoints: [join(root, 'functions/main.ts')],
    outdir: join(folder, 'dist/functions'),
    external: ['@azure/functions-core'],
  });
  return folder;
}
