import { describe, expect, test } from 'vitest';
import { parseAssignment } from '../../../../sandbox/orders/assignment.ts';
import { type ReadQuota, readQuotaLimits } from '../../../../sandbox/orders/quota-limits.ts';
import { azureDefaults } from '../../../../sandbox/azure/state/options.ts';

const base = azureDefaults.quota;
const FAMILIES = ['standardDSv5Family', 'standardDDSv5Family', 'StandardNCASv3_T4Family'];

function read(...texts: ReadonlyArray<string>): ReadQuota {
  const given = texts.map((text) => parseAssignment('--quota', text, 'X=Y'));
  return readQuotaLimits(given, base, FAMILIES);
}

describe('quota', () => {
  test('goes by the names of Azure, whatever the case, and leaves the rest as it is', () => {
    expect(
      read('Cores=100000', 'LOWPRIORITYCORES=7', 'virtualMachines=3', 'STANDARDdsV5family=64', 'familyCores=0'),
    ).toEqual({
      quota: {
        totalRegionalCores: 100_000,
        lowPriorityCores: 7,
        virtualMachines: 3,
        familyCores: 0,
        families: { standardDSv5Family: 64 },
      },
      problems: [],
    });
    expect(read().quota).toEqual(base);
  });

  test.each([
    ['core=8', '--quota core: there is no such quota; did you mean cores'],
    ['standardDSv5=8', '--quota standardDSv5: there is no such quota; did you mean standardDSv5Family'],
    ['qqqqqqqqqq=8', 'write cores, lowPriorityCores, virtualMachines, familyCores or a family as Azure calls it'],
    ['cores=-1', '--quota cores must be a whole number from 0 to 1000000000, not -1'],
    ['cores=1.5', 'not 1.5'],
    ['cores=', 'not nothing'],
    ['cores=9999999999', 'not 9999999999'],
  ])('%s is refused with the field and the fix', (text, message) => {
    const { quota, problems } = read(text);
    expect(quota).toEqual(base);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(message);
  });

  test('is given once for each name, whatever the case', () => {
    expect(read('cores=1', 'CORES=2').problems).toEqual(['--quota CORES is given more than once: keep one']);
  });
});
