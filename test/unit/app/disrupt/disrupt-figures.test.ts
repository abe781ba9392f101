import { expect, test } from 'vitest';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import { parseDisruptionFigures } from '../../../../shared/contract/figures/disruption-figures.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { consolidated, emptied } from '../../../kit/app/consolidated.ts';

/** What looks leave behind for the relay to show. */

function figures({ blobs }: ReturnType<typeof consolidated>) {
  const blob = blobs.readNow('small/disruption-figures');
  return blob === null ? null : parseDisruptionFigures(new TextDecoder().decode(blob.bytes));
}

test('a decision is counted, once for all and once for its pool, and what may go is told [L14]', async () => {
  const cluster = consolidated();
  await disrupt(cluster.ports);
  const labels = { decision: 'delete', reason: 'empty', consolidation_type: 'empty' };
  const record = figures(cluster);
  expect(record?.totals).toEqual([
    { counter: 'decisions_total', labels, by: 1 },
    { counter: 'decisions_by_nodepool_total', labels: { nodepool: 'general', ...labels }, by: 1 },
  ]);
  expect(record?.state).toMatchObject({ eligible: { empty: 1, underutilized: 1, drifted: 0 } });
  expect(record?.state?.budgets).toContainEqual({ nodepool: 'general', reason: 'empty', allowed: 2, consuming: 0 });
});

test('nodes that stay after all are counted as a validation that failed [L14]', async () => {
  const cluster = consolidated();
  await disrupt(cluster.ports);
  cluster.addRunning('late', 'spare');
  cluster.clock.advance(6_000);
  await disrupt(cluster.ports);
  expect(figures(cluster)?.totals).toContainEqual({
    counter: 'failed_validations_total',
    labels: { consolidation_type: 'empty' },
    by: 1,
  });
});

test('replacements that do not come are counted as failures of the queue [L12] [L14]', async () => {
  const cluster = emptied({ types: 2 });
  const { server, ports, clock } = cluster;
  cluster.addReady('large', 8);
  cluster.addRunning('web', 'large');
  await disrupt(ports);
  const replacement = server.list('nodeclaims').find(({ metadata }) => metadata.name !== 'large');
  expect(replacement?.metadata.annotations?.['nodewright.dev/created-for']).toBe('Underutilized');
  clock.advance(601_000);
  await disrupt(ports);
  const labels = { decision: 'replace', reason: 'underutilized', consolidation_type: 'single' };
  expect(figures(cluster)?.totals).toContainEqual({ counter: 'queue_failures_total', labels, by: 1 });
});

test('figures that cannot be written stop nobody', async () => {
  const { ports, stateOf, clock } = consolidated();
  const down = () => Promise.reject(new RetryableError('storage is away'));
  const deaf = { ...ports, figuresLog: { ...ports.figuresLog, addLook: down } };
  await disrupt(deaf);
  clock.advance(6_000);
  expect(await disrupt(deaf)).toMatchObject({ removed: 1 });
  expect(stateOf('spare')).toBe('leaving');
});
