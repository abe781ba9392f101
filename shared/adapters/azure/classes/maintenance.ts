import type { MaintenanceConfiguration, MaintenanceWindow } from '@azure/arm-containerservice';
import type { Maintenance, MaintenanceRecurrence, MaintenanceSchedule } from '../../../ports/maintenance.ts';
import { readAzureError, toRetryable } from '../calls/azure-error.ts';
import type { Clients } from '../calls/clients.ts';

const DAY_MS = 24 * 60 * 60_000;

/**
 * Reads a maintenance configuration of a managed cluster by its resource id; without one nothing is asked. That it does
 * not exist means that nobody has limited maintenance. RetryableError where Azure cannot say now.
 */
export async function readMaintenance(
  clients: Pick<Clients, 'containers'>,
  id: string | undefined,
): Promise<Maintenance> {
  if (id === undefined) return { kind: 'any-time' };
  const [, , , , group = '', , , , cluster = '', , name = ''] = id.split('/');
  if (name === '')
    return unknown(
      `MAINTENANCE_CONFIGURATION_ID ${id} is not the id of a maintenance configuration: correct or remove it`,
    );
  try {
    const containers = await clients.containers();
    return toMaintenance(name, await containers.maintenanceConfigurations.get(group, cluster, name));
  } catch (error) {
    const { status } = readAzureError(error);
    if (status === 404) return { kind: 'any-time' };
    if (status === 401 || status === 403)
      return unknown(
        `the app's identity may not read ${id}: give it Microsoft.ContainerService/managedClusters/maintenanceConfigurations/read there`,
      );
    throw toRetryable(`reading maintenance configuration ${name}`, error);
  }
}

/** What a configuration says. One that has no window, or one of a form that we do not know, is not taken for leave. */
export function toMaintenance(name: string, { maintenanceWindow, systemData }: MaintenanceConfiguration): Maintenance {
  if (maintenanceWindow === undefined)
    return unknown(`maintenance configuration ${name} has no maintenanceWindow: give it one, or delete it`);
  const recurrence = recurrenceOf(maintenanceWindow);
  const startMinutes = minutesOf(maintenanceWindow.startTime);
  const offsetMinutes = offsetOf(maintenanceWindow.utcOffset ?? '+00:00');
  const blocked = (maintenanceWindow.notAllowedDates ?? []).map(
    ({ start, end }) => [dayOf(start), dayOf(end)] as const,
  );
  const blockedDays = blocked.flatMap(([first, last]) => (first === null || last === null ? [] : [{ first, last }]));
  const isRead = blockedDays.length === blocked.length;
  if (recurrence === null || startMinutes === null || offsetMinutes === null || !isRead)
    return unknown(`the maintenanceWindow of maintenance configuration ${name} is of a form that is not known here`);
  const firstDay = dayOf(maintenanceWindow.startDate);
  const schedule: MaintenanceSchedule = {
    name,
    recurrence,
    firstDay,
    countedFromDay: firstDay ?? dayOf(systemData?.createdAt),
    startMinutes,
    durationMinutes: maintenanceWindow.durationHours * 60,
    offsetMinutes,
    blockedDays,
  };
  return { kind: 'scheduled', schedule };
}

function unknown(message: string): Maintenance {
  return { kind: 'unknown', message };
}

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const WEEKS: Readonly<Record<string, 1 | 2 | 3 | 4 | 'last'>> = {
  First: 1,
  Second: 2,
  Third: 3,
  Fourth: 4,
  Last: 'last',
};

function recurrenceOf({ schedule }: MaintenanceWindow): MaintenanceRecurrence | null {
  const { daily, weekly, absoluteMonthly, relativeMonthly } = schedule;
  if (daily !== undefined) return { kind: 'daily', every: daily.intervalDays };
  if (absoluteMonthly !== undefined)
    return { kind: 'monthly', every: absoluteMonthly.intervalMonths, day: absoluteMonthly.dayOfMonth };
  const weekday = WEEKDAYS.indexOf((weekly ?? relativeMonthly)?.dayOfWeek ?? '');
  if (weekday === -1) return null;
  if (weekly !== undefined) return { kind: 'weekly', every: weekly.intervalWeeks, weekday };
  const week = WEEKS[relativeMonthly?.weekIndex ?? ''];
  if (relativeMonthly === undefined || week === undefined) return null;
  return { kind: 'weekday-of-month', every: relativeMonthly.intervalMonths, weekday, week };
}

/** `HH:MM` as minutes; null when it is nothing like it. */
function minutesOf(text: string): number | null {
  const [, hours, minutes] = /^(\d{2}):(\d{2})$/.exec(text) ?? [];
  return hours === undefined || minutes === undefined ? null : Number(hours) * 60 + Number(minutes);
}

function offsetOf(text: string): number | null {
  const minutes = minutesOf(text.slice(1));
  return minutes === null || !/^[+-]/.test(text) ? null : text.startsWith('-') ? -minutes : minutes;
}

/** Azure writes days without a time; the SDK reads them as midnight in UTC. */
function dayOf(date: Date | undefined): number | null {
  return date === undefined || Number.isNaN(date.getTime()) ? null : Math.floor(date.getTime() / DAY_MS);
}
