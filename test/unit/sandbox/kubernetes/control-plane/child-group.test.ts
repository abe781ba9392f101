import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openChildGroup } from '../../../../../sandbox/kubernetes/control-plane/child-group.ts';

let logs: string;
beforeAll(() => {
  logs = mkdtempSync(join(tmpdir(), 'nodewright-children-'));
});
afterAll(() => rmSync(logs, { recursive: true }));

test('a program that ends by itself is told with the end of its log, one that is asked to end is not', async () => {
  const said: Array<string> = [];
  const group = openChildGroup(logs, (line) => said.push(line));
  const shell = (name: string, script: string): void =>
    group.start({ name, path: '/bin/sh', args: ['-c', script], endBy: 'SIGTERM' });
  shell('lasting', 'echo at work; sleep 600');
  shell('broken', 'echo unknown flag; exit 3');
  await vi.waitUntil(() => said.length > 0, { timeout: 30_000 });
  expect(() => group.throwIfEnded()).toThrow('broken ended with code 3; its log ends:\nunknown flag');
  await group.close();
  expect(said).toEqual(['broken ended with code 3; its log ends:\nunknown flag']);
});
