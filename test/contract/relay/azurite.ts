import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { storageConnection } from '../../../sandbox/world/storage-connection.ts';

/** A storage account in memory, for one test file. */
export interface StorageAccount {
  readonly connectionString: string;
  readonly close: () => Promise<void>;
}

const startMs = 30_000;

/** Starts Azurite's blob service on a port of the system's choice. Rejects when it does not listen within 30 s. */
export async function startAzurite(): Promise<StorageAccount> {
  const main = createRequire(import.meta.url).resolve('azurite/dist/src/blob/main.js');
  const options = [
    '--inMemoryPersistence',
    '--silent',
    '--blobPort',
    '0',
    '--skipApiVersionCheck',
    '--disableTelemetry',
  ];
  const child = spawn(process.execPath, [main, ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('Azurite does not listen')), startMs);
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString('utf8');
      const found = /successfully listens on (http:\/\/\S+)/.exec(said)?.[1];
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`Azurite ended with ${String(code)}: ${said}`)));
  });
  return {
    connectionString: storageConnection(url),
    close: () =>
      new Promise((resolve) => {
        child.removeAllListeners('exit');
        child.once('exit', () => resolve());
        child.kill('SIGKILL');
      }),
  };
}
