import type { MaintenanceWindow } from '@azure/arm-containerservice';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { azureDefaults } from '../../../../sandbox/azure/state/options.ts';
import { readMaintenance } from '../../../../shared/adapters/azure/classes/maintenance.ts';
import { containersClient, startWithClients, subscriptionId } from '../kit/clients.ts';

const { clusterResourceGroup, clusterName } = azureDefaults;
const NAME = 'aksManagedNodeOSUpgradeSchedule';
const ID = `/subscriptions/${subscriptionId}/resourceGroups/${clusterResourceGroup}/providers/Microsoft.ContainerService/managedClusters/${clusterName}/maintenanceConfigurations/${NAME}`;

type Running = Awaited<ReturnType<typeof startWithClients>>;
let running: Running;
beforeAll(async () => {
  running = await startWithClients({});
});
afterAll(() => running.azure.close());

const configurations = () => containersClient(running.azure.endpoint).maintenanceConfigurations;
const read = (id: string | undefined = ID) =>
  readMaintenance({ containers: () => Promise.resolve(containersClient(running.azure.endpoint)) }, id);

beforeEach(() => configurations().delete(clusterResourceGroup, clusterName, NAME));

const day = (text: string): number => Date.parse(text) / 86_400_000;

async function put(window: Partial<MaintenanceWindow>): Promise<void> {
  await configurations().createOrUpdate(clusterResourceGroup, clusterName, NAME, {
    maintenanceWindow: {
      schedule: { weekly: { intervalWeeks: 1, dayOfWeek: 'Friday' } },
      durationHours: 8,
      startTime: '22:30',
      ...window,
    },
  });
}

test('a configuration that does not exist limits nothing, nor does a setting that is not given', async () => {
  expect(await read()).toEqual({ kind: 'any-time' });
  expect(await readMaintenance({ containers: () => Promise.reject(new Error('not asked')) }, undefined)).toEqual({
    kind: 'any-time',
  });
});

test('a window is read with its zone, its first day and the days that it leaves out', async () => {
  await put({
    utcOffset: '-03:30',
    startDate: new Date('2026-11-20'),
    notAllowedDates: [{ start: new Date('2026-12-22'), end: new Date('2027-01-03') }],
  });
  expect(await read()).toEqual({
    kind: 'scheduled',
    schedule: {
      name: NAME,
      recurrence: { kind: 'weekly', every: 1, weekday: 5 },
      firstDay: day('2026-11-20'),
      countedFromDay: day('2026-11-20'),
      startMinutes: 22 * 60 + 30,
      durationMinutes: 8 * 60,
      offsetMinutes: -(3 * 60 + 30),
      blockedDays: [{ first: day('2026-12-22'), last: day('2027-01-03') }],
    },
  });
});

test.for([
  [{ daily: { intervalDays: 2 } }, { kind: 'daily', every: 2 }],
  [{ weekly: { intervalWeeks: 3, dayOfWeek: 'Sunday' } }, { kind: 'weekly', every: 3, weekday: 0 }],
  [{ absoluteMonthly: { intervalMonths: 2, dayOfMonth: 31 } }, { kind: 'monthly', every: 2, day: 31 }],
  [
    { relativeMonthly: { intervalMonths: 1, dayOfWeek: 'Saturday', weekIndex: 'Last' } },
    { kind: 'weekday-of-month', every: 1, weekday: 6, week: 'last' },
  ],
  [
    { relativeMonthly: { intervalMonths: 1, dayOfWeek: 'Monday', weekIndex: 'Second' } },
    { kind: 'weekday-of-month', every: 1, weekday: 1, week: 2 },
  ],
] as const)('%o is read, and counted from the day on which it was made', async ([schedule, recurrence]) => {
  await put({ schedule });
  expect(await read()).toMatchObject({
    kind: 'scheduled',
    schedule: { recurrence, firstDay: null, countedFromDay: Math.floor(Date.now() / 86_400_000), offsetMinutes: 0 },
  });
});

test('one without a window is not taken for leave', async () => {
  await configurations().createOrUpdate(clusterResourceGroup, clusterName, NAME, {
    timeInWeek: [{ day: 'Monday', hourSlots: [1] }],
  });
  expect(await read()).toEqual({
    kind: 'unknown',
    message: `maintenance configuration ${NAME} has no maintenanceWindow: give it one, or delete it`,
  });
});

test('an id that is none is named with the setting that has it', async () => {
  expect(await read('/subscriptions/x')).toMatchObject({
    kind: 'unknown',
    message: expect.stringMatching(/^MAINTENANCE_CONFIGURATION_ID .* correct or remove it$/),
  });
});

test('the double refuses a window that Azure refuses', async () => {
  await expect(put({ durationHours: 3 })).rejects.toThrow('durationHours');
});
