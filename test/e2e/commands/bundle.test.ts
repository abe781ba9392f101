import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const run = promisify(execFile);
const app = pathToFileURL(resolve(import.meta.dirname, '../../../dist/functions/main.js')).href;

test("a start of the app leaves Node's own fetch to what uses it later", async () => {
  const script = `await import(${JSON.stringify(app)}); console.log(JSON.stringify(process.moduleLoadList));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script]);
  const loaded = JSON.parse(stdout) as ReadonlyArray<string>;
  expect(loaded).toContain('NativeModule https');
  expect(loaded.filter((name) => name.includes('undici'))).toEqual([]);
});
