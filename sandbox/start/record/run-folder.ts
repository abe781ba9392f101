import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Waits until its input ends, which it does when the parent ends in whatever way, lets the children end, and cleans up.
 */
const REMOVER = 'cat > /dev/null; sleep 2; rm -rf "$1"';

/** A folder that is gone when this process is, even after `kill -9`. */
export interface RunFolder {
  readonly path: string;
  /** Removes it now. Harmless when repeated. */
  remove(): void;
}

/** Makes a folder under the system's folder for temporary files. */
export function createRunFolder(): RunFolder {
  const path = mkdtempSync(join(tmpdir(), 'nodewright-'));
  const remover = spawn('/bin/sh', ['-c', REMOVER, 'sh', path], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  remover.on('error', () => undefined);
  remover.stdin.on('error', () => undefined);
  remover.unref();
  return {
    path,
    remove: () => {
      rmSync(path, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
