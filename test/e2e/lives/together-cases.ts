import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectConsistent } from '../kit/consistent.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { removeAll } from '../kit/remove-all.ts';
import { type Definition, conditionOf, isTrue } from '../kit/state.ts';
import { type Mode, type World, startWorld } from '../kit/world.ts';

const CLAIMS = '/apis/karpenter.sh/v1/nodeclaims';
const CLASSES = '/apis/karpenter.azure.com/v1beta1/aksnodeclasses';
const EVENTS = '/api/v1/namespaces/default/events';

interface Event {
  readonly reason: string;
  readonly message: string;
  readonly source?: { readonly component?: string };
}

const classCalled = (name: string): object => ({ ...nodeClass, metadata: { name } });

/** A NodeClaim that a person makes, without a pool. */
function claimOf(name: string, className: string): object {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name },
    spec: {
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: className },
      requirements: [
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
        { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] },
        { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
      ],
    },
  };
}

/** What is applied, or goes, together: nothing is refused that is only not known yet, and nothing is left behind. */
export function togetherCases(mode: Mode): void {
  describe(`applied together (${mode})`, () => {
    let world: World;

    beforeAll(async () => {
      world = await startWorld(mode);
      await world.apply(nodeClass);
    });
    afterAll(async () => {
      await world?.close();
    });
    afterEach(async () => {
      await removeAll(world);
    });

    it.each([
      ['before', false],
      ['after', true],
    ])('a NodeClaim that is applied %s its class is kept until that is judged, and launched', async (_, isAfter) => {
      const name = isAfter ? 'after' : 'before';
      const objects = [claimOf(`alone-${name}`, name), classCalled(name)];
      await world.apply(...(isAfter ? objects.toReversed() : objects));
      await world.until('its node is initialized', ({ claims }) =>
        claims.some((claim) => claim.metadata.name === `alone-${name}` && isTrue(claim, 'Initialized')),
      );
      await world.api.remove(`${CLAIMS}/alone-${name}`, {});
      await world.api.remove(`${CLASSES}/${name}`, {});
      await world.until('the class goes with the last of its claims, and does not wait for a sweep', async () => {
        const { items } = await world.api.get<{ readonly items: ReadonlyArray<Definition> }>(CLASSES);
        return items.every(({ metadata }) => metadata.name !== name);
      });
    });

    it('pods that are applied with a new class and pool hear of no refusal before these are judged', async () => {
      await world.apply(deployment('inflate', 3), nodePool('fresh', { nodeClass: 'fresh' }), classCalled('fresh'));
      await expectConsistent(world, { pods: 3 });
      const { items } = await world.api.get<{ readonly items: ReadonlyArray<Event> }>(EVENTS);
      const ours = items.filter(
        ({ reason, source }) => reason === 'FailedScheduling' && source?.component === 'karpenter',
      );
      expect(ours.map(({ message }) => message).filter((message) => message.includes('fresh'))).toEqual([]);
      await world.api.remove('/apis/karpenter.sh/v1/nodepools/fresh', {});
      await world.api.remove(`${CLASSES}/fresh`, {});
    });

    it('a claim whose class is wrong is refused, and says what is wrong with it', async () => {
      const subnet = `/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/x/providers/Microsoft.Network/virtualNetworks/none/subnets/none`;
      await world.apply({ ...classCalled('wrong'), spec: { vnetSubnetID: subnet } });
      await world.until('the class is judged', async () => {
        const shown = await world.api.get<Definition>(`${CLASSES}/wrong`);
        return conditionOf(shown, 'Ready')?.status === 'False';
      });
      await world.apply(claimOf('refused', 'wrong'));
      await world.until('the claim is gone', ({ claims }) => claims.length === 0);
      const { items } = await world.api.get<{ readonly items: ReadonlyArray<Event> }>(EVENTS);
      const said = items.filter(({ reason }) => reason === 'NodeClassNotReady').map(({ message }) => message);
      expect(said).toContainEqual(expect.stringContaining('AKSNodeClass wrong is not ready'));
      await world.api.remove(`${CLASSES}/wrong`, {});
    });

    it('a claim whose providerID names no machine goes at once, its machine too, and its pods move', async () => {
      await world.apply(nodePool('general'), deployment('inflate', 2));
      const before = await expectConsistent(world, { pods: 2 });
      const claim = before.claims[0];
      const name = claim?.metadata.name ?? '';
      const providerID = `${claim?.status?.providerID ?? ''}-none`;
      await world.api.patch(`${CLAIMS}/${name}/status`, 'merge', { status: { providerID } });
      await world.until('the claim is gone', ({ claims }) => !claims.some(({ metadata }) => metadata.name === name));
      const after = await expectConsistent(world, { pods: 2 });
      expect(after.claims.map(({ metadata }) => metadata.name)).not.toContain(name);
    });
  });
}
