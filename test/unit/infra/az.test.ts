import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { azIn } from '../../../infra/hooks/az.ts';
import { runProgram } from '../../../infra/hooks/run-program.ts';

test('a program that hangs is ended', () => {
  const { error, status } = runProgram(process.execPath, ['-e', 'setTimeout(() => undefined, 60_000)'], {
    cwd: tmpdir(),
    shown: false,
    withinMs: 200,
  });
  expect(error).toMatchObject({ code: 'ETIMEDOUT' });
  expect(status).toBeNull();
});

test('an az that hangs has refused, with what it was asked', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nodewright-az-'));
  const { PATH = '' } = process.env;
  try {
    writeFileSync(join(folder, 'az'), `#!${process.execPath}\nsetTimeout(() => undefined, 60_000);\n`);
    chmodSync(join(folder, 'az'), 0o755);
    process.env['PATH'] = folder;
    expect(azIn(folder, 300)(['aks', 'command', 'invoke', '--command', 'kubectl'])).toEqual({
      kind: 'refused',
      message: 'az aks command invoke did not end in time, and was ended',
    });
  } finally {
    process.env['PATH'] = PATH;
    rmSync(folder, { recursive: true, force: true });
  }
});
