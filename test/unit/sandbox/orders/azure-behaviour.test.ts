import { describe, expect, test } from 'vitest';
import { type Assignment, parseAssignment } from '../../../../sandbox/orders/assignment.ts';
import {
  type Behaviour,
  behaviourHelp,
  defaultBehaviour,
  readBehaviour,
  readRegion,
} from '../../../../sandbox/orders/azure-behaviour.ts';
import { quickLatency } from '../../../../sandbox/azure/state/options.ts';

const base: Behaviour = { ...defaultBehaviour, latency: quickLatency };
const SIZES: ReadonlySet<string> = new Set(['standard_d4s_v5', 'standard_d8s_v5']);

function given(...texts: ReadonlyArray<string>): ReadonlyArray<Assignment> {
  return texts.map((text) => parseAssignment('--azure', text, 'X=Y'));
}

function read(...texts: ReadonlyArray<string>): ReturnType<typeof readBehaviour> {
  return readBehaviour(given(...texts), base, (name) => SIZES.has(name.toLowerCase()));
}

describe('the behaviour of Azure', () => {
  test.each<[string, Partial<Behaviour>]>([
    ['requestMs=60..250', { latency: { ...quickLatency, request: { minMs: 60, maxMs: 250 } } }],
    ['REQUESTMS=5', { latency: { ...quickLatency, request: { minMs: 5, maxMs: 5 } } }],
    ['nicSeconds=0.5..2', { latency: { ...quickLatency, nic: { minMs: 500, maxMs: 2_000 } } }],
    ['allocationSeconds=3', { latency: { ...quickLatency, allocation: { minMs: 3_000, maxMs: 3_000 } } }],
    ['provisioningSeconds=3', { latency: { ...quickLatency, provisioning: { minMs: 3_000, maxMs: 3_000 } } }],
    ['deleteSeconds=3', { latency: { ...quickLatency, vmDelete: { minMs: 3_000, maxMs: 3_000 } } }],
    ['extensionSeconds=3', { latency: { ...quickLatency, extension: { minMs: 3_000, maxMs: 3_000 } } }],
    ['throttlePercent=5', { faults: { ...base.faults, throttlePercent: 5 } }],
    ['provisioningFailurePercent=100', { faults: { ...base.faults, provisioningFailurePercent: 100 } }],
    ['slowMs=900', { faults: { ...base.faults, slowMs: 900 } }],
    ['retryAfterSeconds=7', { faults: { ...base.faults, retryAfterSeconds: 7 } }],
    ['requestLimits=true', { throttle: true }],
    ['imageDiskControllers=SCSI', { imageDiskControllers: ['SCSI'] }],
    ['imageDiskControllers=nvme,scsi', { imageDiskControllers: ['NVMe', 'SCSI'] }],
    ['spotMeanLifeMinutes=3', { spotMeanLifeMinutes: 3 }],
    ['evictionNoticeSeconds=10', { evictionNoticeSeconds: 10 }],
    ['scheduledEventDelayMs=10', { scheduledEventDelayMs: 10 }],
    ['healthEventDelayMs=10', { healthEventDelayMs: 10 }],
    ['graphLagMs=10', { graphLagMs: 10 }],
    ['nicReservedSeconds=10', { nicReservedSeconds: 10 }],
    ['evictionRates=D4s_v5:20+', { evictionRates: { Standard_D4s_v5: '20+' } }],
    [
      'withheldSizes=D4s_v5/2,Standard_D8s_v5',
      {
        restrictions: [
          { size: 'Standard_D4s_v5', zones: ['2'] },
          { size: 'Standard_D8s_v5', zones: [] },
        ],
      },
    ],
  ])('%s is taken, and nothing else changes', (text, change) => {
    expect(read(text)).toEqual({ behaviour: { ...base, ...change }, problems: [] });
  });

  test('has sizes that are sold out in a zone, for a capacity type, and after some VMs', () => {
    const { behaviour, problems } = read('noCapacity=D4s_v5, */westeurope-1, */*/spot:3');
    expect(problems).toEqual([]);
    const code = 'ZonalAllocationFailed';
    expect(behaviour.exhaustions).toEqual([
      { size: 'Standard_D4s_v5', zone: null, capacityType: null, code, remaining: 0 },
      { size: null, zone: '1', capacityType: null, code, remaining: 0 },
      { size: null, zone: null, capacityType: 'spot', code, remaining: 3 },
    ]);
  });

  test.each([
    ['throtlePercent=5', '--azure throtlePercent: there is no such behaviour of Azure; did you mean throttlePercent'],
    ['imageDiskControllers=IDE', '--azure imageDiskControllers names the disk controller IDE: write SCSI or NVMe'],
    ['throttlePercent=101', '--azure throttlePercent must be a number from 0 to 100, not 101'],
    ['slowMs=', '--azure slowMs must be a number from 0 to 600000, not nothing'],
    ['requestMs=9..5', '--azure requestMs must be a time, or the least and the most with .. between, not 9..5'],
    ['requestMs=1..2..3', 'not 1..2..3'],
    ['requestMs=soon', 'must be a number from 0 to 3600000, not soon'],
    ['nicSeconds=4000', 'must be a number from 0 to 3600, not 4000'],
    ['requestLimits=on', '--azure requestLimits is true or false, not on'],
    ['noCapacity=D4s_v9', '--azure noCapacity names the size D4s_v9, which the region does not have'],
    ['noCapacity=D4s_v5/9', 'names the zone 9: write 1, 2 or 3'],
    ['noCapacity=D4s_v5/1/cheap', 'names the capacity type cheap: write spot or on-demand'],
    ['noCapacity=D4s_v5:few', 'write SIZE, SIZE/ZONE or SIZE/ZONE/TYPE, and :N after it'],
    ['withheldSizes=D4s_v5/1/2', 'write SIZE or SIZE/ZONE'],
    ['evictionRates=D4s_v5:often', 'write SIZE:BAND, with BAND one of 0-5, 5-10, 10-15, 15-20, 20+'],
    ['spotMeanLifeMinutes=0', 'must be 0.01 or more, not 0'],
  ])('%s is refused with the field and the fix', (text, message) => {
    const { behaviour, problems } = read(text);
    expect(behaviour).toEqual(base);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(message);
  });

  test('is given once for each name, whatever the case', () => {
    expect(read('slowMs=1', 'SLOWMS=2').problems).toEqual(['--azure SLOWMS is given more than once: keep one']);
  });

  test('is that of a region with prices', () => {
    expect(readRegion(given('slowMs=1'))).toEqual({ region: 'westeurope', problems: [] });
    expect(readRegion(given('Region=EastUS'))).toEqual({ region: 'eastus', problems: [] });
    expect(readRegion(given('region=mars')).problems).toEqual(['--azure region is westeurope or eastus, not mars']);
    expect(read('region=eastus').problems).toEqual([]);
  });

  test('is told in lines that fit the help, with a unit for every number', () => {
    for (const line of behaviourHelp) expect(line.length).toBeLessThanOrEqual(110);
    expect(behaviourHelp.join('\n')).toMatch(/requestMs=MS or MS\.\.MS .*\n.*nicSeconds=S or S\.\.S/);
  });
});
