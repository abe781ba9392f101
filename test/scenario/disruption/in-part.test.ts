import { expect, test } from 'vitest';
import { createPool, createSet, driftPool, quiet } from '../../simulation/course/quiet.ts';

/**
 * Two nodes have drifted and are to be replaced together, and then a pod of one of them must not be disrupted any more.
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const cpus = (cpu: string) => ({
  containers: [{ name: 'main', resources: { requests: { cpu, memory: '64Mi' } } }],
});

test('the other goes, and what has come for the one that stays does not stand empty, though its pool says Never', async () => {
  const simulation = quiet('in-part');
  const { server } = simulation;
  const requirements = [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D2s_v5'] }];
  createPool(simulation, 'y', { requirements });
  createSet(simulation, 'a', 1, cpus('1500m'));
  createSet(simulation, 'b', 1, cpus('1600m'));
  await simulation.pass(3 * MINUTE);
  const old = server.list('nodeclaims').map(({ metadata }) => metadata.name);
  expect(old).toHaveLength(2);
  driftPool(simulation, 'y');
  const claims = () => server.list('nodeclaims').map(({ metadata }) => metadata.name);
  const fresh = () => claims().filter((name) => !old.includes(name));
  for (let second = 0; second < 60 && fresh().length < 2; second++) await simulation.pass(SECOND);
  expect(fresh()).toHaveLength(2);
  const pod = server.list('pods').find(({ metadata }) => metadata.labels?.['app'] === 'a');
  const metadata = { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } };
  server.patch('pods', `shop/${pod?.metadata.name ?? ''}`, { metadata }, 'object');
  await simulation.pass(4 * MINUTE);
  const staying = String(pod?.spec?.['nodeName']).replace(/^aks-/, '');
  // Without waiting for the other, and with what has come still there, as the removal might be begun again.
  expect(claims().toSorted()).toEqual([staying, ...fresh()].toSorted());
  await simulation.pass(6 * MINUTE);
  expect([claims().includes(staying), fresh().length]).toEqual([true, 1]);
  const running = server.list('pods').filter(({ spec }) => spec?.['nodeName'] !== undefined);
  expect(running).toHaveLength(2);
});
