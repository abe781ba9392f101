import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const script = resolve(import.meta.dirname, '../../../scripts/bicep.ts');

/**
 * A command that knows four things to say of a file, by words in it: WARN is a warning of the linter, FORM another
 * form, and a snapshot is the file's text, which cannot be worked out with FAIL in it.
 */
const BICEP = `#!/bin/sh
case "$1" in
  --version) echo 'Bicep CLI version 0.0.0' ;;
  build|build-params) if grep -q WARN "$2"; then echo "$2(1,1) : Warning no-unused-params" >&2; fi ;;
  format) sed 's/FORM/form/' "$2" > "$4" ;;
  snapshot)
    kept="\${2%.bicepparam}.snapshot.json"
    if grep -q FAIL "$2"; then echo 'Template evaluation failed'; exit 1; fi
    if [ "$4" = validate ]; then cmp -s "$2" "$kept" || { echo 'Snapshot validation failed'; exit 1; }
    else cp "$2" "$kept"; fi ;;
esac
`;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nodewright-script-'));
  mkdirSync(join(folder, 'infra/variants'), { recursive: true });
  mkdirSync(join(folder, 'bin'));
  // The commands that the one above is made of, and no other: a real one of the machine is not to answer.
  for (const name of ['sh', 'grep', 'sed', 'cp', 'cmp']) {
    const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).stdout.trim();
    symlinkSync(found, join(folder, 'bin', name));
  }
  write('infra/main.bicep', 'param a string\n');
  write('infra/variants/one.bicepparam', 'param a = 1\n');
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function write(path: string, text: string): void {
  writeFileSync(join(folder, path), text);
}

function run(...words: ReadonlyArray<string>): { readonly status: number | null; readonly said: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...words], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: [join(folder, 'bin')].join(delimiter) },
  });
  return { status, said: `${stdout}${stderr}` };
}

function withBicep(): void {
  write('bin/bicep', BICEP);
  chmodSync(join(folder, 'bin/bicep'), 0o755);
}

describe('what Bicep’s own command has to say of the templates', () => {
  test('without it nothing is called right, and where it is required that fails', () => {
    const { status, said } = run();
    expect(said.trim()).toMatch(/^NOT CHECKED: there is no bicep command on the PATH/);
    expect(said).not.toContain('✓');
    expect(status).toBe(0);
    expect(run('--required').status).toBe(1);
  });

  test('files that it finds nothing in pass, and variants without a snapshot are counted', () => {
    withBicep();
    const { status, said } = run('--required');
    expect(said).toContain('2 files and 1 variants, 0 with errors or warnings');
    expect(said).toContain('1 variants have no committed snapshot');
    expect(existsSync(join(folder, 'infra/variants/one.snapshot.json'))).toBe(false);
    expect(status).toBe(0);
  });

  test.for([
    ['infra/main.bicep', 'param a WARN\n', 'Warning no-unused-params'],
    ['infra/main.bicep', 'param a FORM\n', 'has not the form that bicep format gives it'],
    ['infra/variants/one.bicepparam', 'param a = FAIL\n', 'Template evaluation failed'],
  ] as const)('what it finds fails: %s, %s', ([path, text, said]) => {
    withBicep();
    write(path, text);
    const answer = run();
    expect(answer.said).toContain(said);
    expect(answer.said).toContain('1 with errors or warnings');
    expect(answer.status).toBe(1);
  });

  test('a variant that comes to something else than its snapshot fails until it is written anew', () => {
    withBicep();
    expect(run('--write').status).toBe(0);
    expect(run().said).not.toContain('no committed snapshot');
    write('infra/variants/one.bicepparam', 'param a = 2 FORM\n');
    const { status, said } = run();
    expect(said).toContain('Snapshot validation failed');
    expect(status).toBe(1);
    expect(run('--write').status).toBe(0);
    expect(readFileSync(join(folder, 'infra/variants/one.bicepparam'), 'utf8')).toBe('param a = 2 form\n');
    expect(run().status).toBe(0);
  });
});
