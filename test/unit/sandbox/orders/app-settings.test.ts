import { describe, expect, test } from 'vitest';
import { givableSettings, readAppSettings } from '../../../../sandbox/orders/app-settings.ts';
import { type Assignment, parseAssignment } from '../../../../sandbox/orders/assignment.ts';

function given(...texts: ReadonlyArray<string>): ReadonlyArray<Assignment> {
  return texts.map((text) => parseAssignment('--setting', text, 'X=Y'));
}

describe('app settings of the sandbox', () => {
  test('keep the equals signs and commas of their value', () => {
    expect(readAppSettings(given('FEATURE_GATES=StaticCapacity=true,NodeOverlay=true', 'RESERVE_NODES=false'))).toEqual(
      {
        settings: { FEATURE_GATES: 'StaticCapacity=true,NodeOverlay=true', RESERVE_NODES: 'false' },
        problems: [],
      },
    );
  });

  test('that are empty stand for the default of the product, as if they were not given', () => {
    expect(readAppSettings(given('PREFERENCE_POLICY='))).toEqual({ settings: {}, problems: [] });
  });

  test.each([
    ['FEATURE_GATE=x', '--setting FEATURE_GATE: there is no such app setting; did you mean FEATURE_GATES?'],
    ['reserve_nodes=false', 'did you mean RESERVE_NODES?'],
    ['CLUSTER_ENDPOINT=x', '--setting CLUSTER_ENDPOINT cannot be given: the sandbox starts what it leads to'],
    ['ServiceBus=x', '--setting ServiceBus cannot be given: '],
    ['LOCATION=eastus', 'choose another region with --azure region=NAME'],
    ['FEATURE_GATES=Static=true', '--setting FEATURE_GATES has Static=true; write NAME=true or NAME=false'],
    ['PREFERENCE_POLICY=x', '--setting PREFERENCE_POLICY is x; it may be Respect or Ignore'],
    ['MIN_VALUES_POLICY=x', '--setting MIN_VALUES_POLICY is x; it may be Strict or BestEffort'],
    ['RESERVE_NODES=no', '--setting RESERVE_NODES is no; it may be true or false'],
    ['IGNORE_DRA_REQUESTS=no', '--setting IGNORE_DRA_REQUESTS is no; it may be true or false'],
    ['SCHEDULER_CONFIG={', '--setting SCHEDULER_CONFIG: it cannot be read as JSON'],
    ['SWEEP_SCHEDULE=hourly', '--setting SWEEP_SCHEDULE: "hourly" is no NCRONTAB schedule'],
    ['SWEEP_SCHEDULE=0 0 0 31 2 *', 'names no instant'],
    ['VM_MEMORY_OVERHEAD_PERCENT=7.5', '--setting VM_MEMORY_OVERHEAD_PERCENT: write a share of 0 to 1'],
    ['VM_MEMORY_OVERHEAD_PERCENT=some', 'as 0.075, not some'],
  ])('%s is refused with the field and the fix', (text, message) => {
    const { problems } = readAppSettings(given(text));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(message);
  });

  test('of which no name is near are listed', () => {
    const [problem = ''] = readAppSettings(given('QQQQQQQQQQ=1')).problems;
    for (const name of givableSettings) expect(problem).toContain(name);
    expect(problem).not.toContain('CLUSTER_ENDPOINT');
  });

  test('are given once each', () => {
    const { problems } = readAppSettings(given('RESERVE_NODES=true', 'RESERVE_NODES=false'));
    expect(problems).toEqual(['--setting RESERVE_NODES is given more than once: keep one']);
  });
});
