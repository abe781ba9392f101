import { describe, expect, test } from 'vitest';
import { readMaintenance, toMaintenance } from '../../../../../shared/adapters/azure/classes/maintenance.ts';

const ID =
  '/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/c/maintenanceConfigurations/m';

/** A client whose question ends with this status. */
const answering = (statusCode: number) => ({
  containers: () =>
    Promise.resolve({
      maintenanceConfigurations: {
        get: () => Promise.reject(Object.assign(new Error('no'), { statusCode })),
      },
    } as never),
});

describe('a configuration that', () => {
  test.each([401, 403])('may not be read (%i) is not known, and the right is named', async (status) => {
    expect(await readMaintenance(answering(status), ID)).toEqual({
      kind: 'unknown',
      message: `the app's identity may not read ${ID}: give it Microsoft.ContainerService/managedClusters/maintenanceConfigurations/read there`,
    });
  });

  test('cannot be read now is asked for again', async () => {
    await expect(readMaintenance(answering(503), ID)).rejects.toThrow('reading maintenance configuration m: 503');
  });
});

describe('a window is not taken for leave', () => {
  const window = { schedule: { daily: { intervalDays: 1 } }, durationHours: 4, startTime: '02:00' };

  test.each<readonly [string, object]>([
    ['with a recurrence that is new', { schedule: {} }],
    ['with a weekday that is none', { schedule: { weekly: { intervalWeeks: 1, dayOfWeek: 'Caturday' } } }],
    [
      'with a week that is none',
      { schedule: { relativeMonthly: { intervalMonths: 1, dayOfWeek: 'Monday', weekIndex: 'Fifth' } } },
    ],
    ['with a time that is none', { startTime: '2 am' }],
    ['with an offset that is none', { utcOffset: 'CET' }],
    ['with an offset without a sign', { utcOffset: '102:00' }],
    ['with a day that is none', { notAllowedDates: [{ start: new Date('x'), end: new Date('2026-01-01') }] }],
  ])('%s', (_, odd) => {
    expect(toMaintenance('m', { maintenanceWindow: { ...window, ...odd } })).toEqual({
      kind: 'unknown',
      message: 'the maintenanceWindow of maintenance configuration m is of a form that is not known here',
    });
  });

  test('but one that is well is read', () => {
    expect(toMaintenance('m', { maintenanceWindow: { ...window, utcOffset: '+05:30' } })).toMatchObject({
      kind: 'scheduled',
      schedule: { offsetMinutes: 330, startMinutes: 120, countedFromDay: null, blockedDays: [] },
    });
  });
});
