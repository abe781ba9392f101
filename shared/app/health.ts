import { RetryableError, TerminalError } from '../ports/errors.ts';
import { RELAY_SILENCE_MS } from './gather/read-snapshot.ts';
import type { Ports } from './ports/ports.ts';

/** Whether the app can do its work; each problem is a sentence with what to do about it. */
export interface Health {
  readonly isReady: boolean;
  readonly problems: ReadonlyArray<string>;
  /** Age of what the relay published last, in milliseconds; null where it has published nothing. */
  readonly snapshotAgeMs: number | null;
}

/**
 * Looks at what every decision needs: settings, the API server, the relay's snapshots. Changes nothing and never
 * throws.
 */
export async function health(ports: Ports): Promise<Health> {
  const problems: Array<string> = [];
  const ask = async <T>(doing: string, asked: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await asked();
    } catch (error) {
      if (!(error instanceof RetryableError || error instanceof TerminalError)) throw error;
      problems.push(`${doing}: ${error.message}`);
      return undefined;
    }
  };
  const [deployment, , snapshot] = await Promise.all([
    ask('Azure', () => ports.nodeClassFacts.deployment()),
    ask('the API server', () => ports.kubernetes.serverVersion()),
    ask('the storage of snapshots', () => ports.snapshots.latest()),
  ]);
  if (deployment?.kind === 'refused') problems.push(deployment.message);
  const snapshotAgeMs = snapshot === null || snapshot === undefined ? null : ports.now() - snapshot.takenAtMs;
  if (snapshot === null) problems.push('the relay has published nothing yet: see its log in the cluster');
  else if (snapshotAgeMs !== null && snapshotAgeMs > RELAY_SILENCE_MS)
    problems.push(`the relay has been silent for ${Math.round(snapshotAgeMs / 1_000)} s: see its log in the cluster`);
  return { isReady: problems.length === 0, problems, snapshotAgeMs };
}
