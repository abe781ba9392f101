import { describe, expect, test } from 'vitest';
import { resumeNow } from '../../../../shared/app/commit/commit-plan.ts';
import { follow } from '../../../../shared/app/follow/follow.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import { size, zones } from '../../../kit/core/build.ts';
import { decisionOf, machine, smallCluster } from '../../../kit/app/small-cluster.ts';

const D2 = size('Standard_D2_v5', 2, 8, 100_000);
const D4 = size('Standard_D4_v5', 4, 16, 200_000);
const PRICE = 'nodewright.dev/price-per-hour';
const REASON = 'nodewright.dev/size-reason';

/** The claim `c` of a decision that was carried out, planned as a D2 in zone 1. `as`: what Azure has made of it. */
async function launched(as: string) {
  const cluster = smallCluster();
  const { ports, outside, server } = cluster;
  outside.types = [D2, D4];
  cluster.addClass('True');
  cluster.addPool();
  const [one] = decisionOf(['c']).plan.claims;
  if (one === undefined) throw new Error('there is no claim');
  const claims = [{ ...one, offering: { ...one.offering, price: microUsdPerHour(100_000) } }];
  const decision = { ...decisionOf(['c']), plan: { ...decisionOf(['c']).plan, claims } };
  await ports.decisions.put(decision);
  await ports.ledger.commit(await ports.ledger.read(), decision.name);
  await resumeNow(ports);
  outside.launch = ({ claim }) => ({ kind: 'accepted', machine: { ...machine(claim), instanceType: as } });
  const look = () => follow(ports, { kind: 'NodeClaim', name: 'c' });
  await look();
  const told = (): ReadonlyArray<string> =>
    (server.list('events') as ReadonlyArray<Fields>).map(({ reason, message }) => `${reason}: ${message}`);
  const annotations = (kind: string, name: string) => server.get(kind, name)?.metadata.annotations ?? {};
  return { ...cluster, look, told, annotations };
}

const moved = (type: string): string =>
  `${type}: Status condition transitioned, Type: ${type}, Status: Unknown -> True, Reason: ${type}`;

describe('a claim on its way', () => {
  test('says in Karpenter’s words when it is launched, registered and initialized, once each', async () => {
    const { look, told, addNode } = await launched('Standard_D2_v5');
    addNode('c', { taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }] });
    for (let time = 0; time < 3; time++) await look();
    expect(told().map((text) => text.split(', Message: ')[0])).toEqual([
      moved('Launched'),
      moved('Registered'),
      moved('Initialized'),
    ]);
  });

  test('says what its machine is and costs, and why it has that size', async () => {
    const { told, annotations } = await launched('Standard_D2_v5');
    const { [PRICE]: price, [REASON]: reason } = annotations('nodeclaims', 'c');
    expect(price).toBe('0.1 EUR');
    expect(reason).toMatch(/^holds no pod yet; .*; no other offering would do$/);
    expect(told()[0]).toBe(
      `${moved('Launched')}, Message: Standard_D2_v5 (on-demand) in ${zones[0]} at EUR 0.1 an hour: ${reason}`,
    );
  });

  test('says so where Azure gave another size than was planned, with the price of that', async () => {
    const { annotations } = await launched('Standard_D4_v5');
    expect(annotations('nodeclaims', 'c')).toMatchObject({
      [PRICE]: '0.2 EUR',
      [REASON]: `launched in place of Standard_D2_v5/${zones[0]}/on-demand, which was not available`,
    });
  });

  test('has price and reason on its node too', async () => {
    const { look, addNode, annotations } = await launched('Standard_D2_v5');
    addNode('c', { taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }] });
    await look();
    expect(annotations('nodes', 'aks-c')).toMatchObject({ [PRICE]: '0.1 EUR', [REASON]: expect.any(String) });
  });
});
