import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';
import { withReachableLinks } from './links.ts';
import { bundledPackages, renderNotices } from './notices.ts';

/**
 * Lays out `dist/npm`, the package that `npx nodewright` runs: the command in one bundle, and what `nodewright deploy`
 * sends to Azure. It needs Node 22 and nothing else.
 *
 *     node scripts/release/assemble.ts --template FILE --relay-image REGISTRY/NAME@sha256:… --repository OWNER/NAME [--out FOLDER]
 *
 * `--template`: infra/main.bicep as Bicep has compiled it. `--relay-image`: the image that was published.
 * `--repository`: on GitHub; npm takes no package with provenance that names another, or none. Links of pages to files
 * that the package does not have lead there.
 * `dist/app.zip` has to be packed before (`npm run pack`). Without these a package can be assembled for a look at it,
 * and says what it lacks.
 */
const { values: options } = parseArgs({
  options: {
    template: { type: 'string' },
    'relay-image': { type: 'string' },
    repository: { type: 'string' },
    out: { type: 'string', default: 'dist/npm' },
  },
});
const target = options.out;

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Readonly<Record<string, unknown>>;
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });

const { metafile } = await build({
  entryPoints: ['cli/main.ts'],
  outdir: join(target, 'cli'),
  bundle: true,
  splitting: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  legalComments: 'none',
  logLevel: 'warning',
  metafile: true,
  // Packages that are CommonJS ask for others.
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  chunkNames: 'chunks/[name]-[hash]',
});
writeFileSync(join(target, 'THIRD-PARTY-NOTICES.txt'), renderNotices(bundledPackages(Object.keys(metafile.inputs))));

for (const path of [
  'cli/bin.js',
  'cli/catalog/data',
  'infra/chart',
  'infra/main.parameters.json',
  'docs/schema',
  'examples',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]) {
  cpSync(path, join(target, path), { recursive: true });
}

const lacks = [
  take(options.template, 'infra/main.json', 'compiled template (--template)'),
  take('dist/app.zip', 'dist/app.zip', 'code of the app (npm run pack)'),
  takeImage(options['relay-image']),
  leadOut(options.repository),
].filter((one) => one !== null);

const { name, version, description, license, type, keywords } = manifest;
writeFileSync(
  join(target, 'package.json'),
  `${JSON.stringify(
    {
      name,
      version,
      description,
      license,
      type,
      keywords,
      ...repositoryOf(options.repository),
      bin: { nodewright: 'cli/bin.js' },
      engines: { node: '>=22' },
    },
    null,
    2,
  )}\n`,
);
console.log(`${target}: nodewright ${String(version)}${lacks.length === 0 ? '' : `; it lacks: ${lacks.join(', ')}`}`);

function repositoryOf(repository: string | undefined): object {
  if (repository === undefined) return {};
  return { repository: { type: 'git', url: `git+https://github.com/${repository}.git` } };
}

/** Pages name files that only the repository has. Null where they lead there; else what is missing. */
function leadOut(repository: string | undefined): string | null {
  if (repository === undefined) return 'where its pages’ links lead (--repository)';
  const source = { repository, version: String(manifest['version']) };
  const isThere = (path: string): boolean => existsSync(join(target, path));
  for (const page of readdirSync(target, { recursive: true, encoding: 'utf8' }).filter((one) => one.endsWith('.md'))) {
    const file = join(target, page);
    writeFileSync(
      file,
      withReachableLinks(readFileSync(file, 'utf8'), page.replaceAll('\\', '/'), { isThere, source }),
    );
  }
  return null;
}

/** Null where it is there; else what is missing. */
function take(from: string | undefined, to: string, what: string): string | null {
  if (from === undefined || !existsSync(from)) return what;
  mkdirSync(join(target, to, '..'), { recursive: true });
  cpSync(from, join(target, to));
  return null;
}

function takeImage(relayImage: string | undefined): string | null {
  if (relayImage === undefined) return 'image of the relay (--relay-image)';
  if (!/^[\w.:-]+(\/[\w.-]+)+@sha256:[0-9a-f]{64}$/.test(relayImage)) {
    console.error(
      `--relay-image ${relayImage}: write REGISTRY/NAME@sha256: and 64 hexadecimal digits, which nobody can change afterwards`,
    );
    process.exit(2);
  }
  writeFileSync(join(target, 'release.json'), `${JSON.stringify({ relayImage }, null, 2)}\n`);
  return null;
}
