import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { runSteps } from './run.ts';
import { zip } from './zip.ts';

/**
 * Builds the Functions app and lays it out as Azure takes it: the folder `dist/app`, which azd deploys, and
 * `dist/app.zip`, which `az functionapp deployment source config-zip` does. Nothing is to be installed or built there:
 * packages are bundled.
 */
runSteps([{ title: 'build', command: 'node', args: ['scripts/build.ts'] }]);

const { name, version, type, main } = JSON.parse(readFileSync('package.json', 'utf8')) as Readonly<
  Record<'name' | 'version' | 'type' | 'main', string>
>;
/**
 * What the app is built for. On an older Node it does not load, and the Functions host then goes on without any
 * function and no error.
 */
const engines = { node: '>=24' };
const manifest = `${JSON.stringify({ name, version, private: true, type, main, engines }, null, 2)}\n`;
const built = readdirSync('dist/functions', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.js'))
  .toSorted()
  .map((path) => join('dist/functions', path));
const entries = [
  { name: 'host.json', bytes: readFileSync('host.json') },
  { name: 'package.json', bytes: Buffer.from(manifest) },
  ...built.map((path) => ({ name: path.replaceAll('\\', '/'), bytes: readFileSync(path) })),
];

rmSync('dist/app', { recursive: true, force: true });
for (const { name: path, bytes } of entries) {
  const target = join('dist/app', path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, bytes);
}
writeFileSync('dist/app.zip', zip(entries));
console.log(`dist/app.zip: ${entries.length} files, ${Math.ceil(statSync('dist/app.zip').size / 1024)} KiB`);
