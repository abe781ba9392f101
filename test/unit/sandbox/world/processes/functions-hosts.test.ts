import { expect, test } from 'vitest';
import { GROUPS, hostCount } from '../../../../../sandbox/world/processes/functions-hosts.ts';
import { triggers } from '../../../../kit/infra/bicep/check-code.ts';

test('as on Azure each function has a process that listens for it, and what Azure scales out has two', () => {
  const own = triggers().filter(({ isHttp }) => !isHttp);
  const groups = ['http', ...own.map(({ name }) => `function:${name}`)];
  expect(GROUPS.map(([group]) => group).toSorted()).toEqual(groups.toSorted());
  const twice = GROUPS.filter(([, instances]) => instances === 2).map(([group]) => group);
  expect(twice).toEqual(['function:launch', 'function:follow', 'function:interrupt']);
  expect(hostCount('as-on-azure')).toBe(11);
  expect(hostCount('one')).toBe(1);
});
