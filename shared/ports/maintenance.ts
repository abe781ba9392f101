/** When AKS may do planned maintenance, as far as it is known. */
export type Maintenance =
  | { readonly kind: 'any-time' }
  | { readonly kind: 'scheduled'; readonly schedule: MaintenanceSchedule }
  /** `message`: why it is not known, and what a person can do about it. */
  | { readonly kind: 'unknown'; readonly message: string };

/** Windows that come again and again, in the local time of `offsetMinutes`. A day is counted from 1970-01-01 there. */
export interface MaintenanceSchedule {
  /** The configuration's name, for people. */
  readonly name: string;
  readonly recurrence: MaintenanceRecurrence;
  /** No window before this day; null: from the start. */
  readonly firstDay: number | null;
  /** The day that every second, third … day, week or month is counted from; null: not known, and each counts. */
  readonly countedFromDay: number | null;
  /** From midnight to a window's begin. */
  readonly startMinutes: number;
  readonly durationMinutes: number;
  /** East of UTC. */
  readonly offsetMinutes: number;
  /** Days without maintenance, both ends included, also where a window reaches into them. */
  readonly blockedDays: ReadonlyArray<{ readonly first: number; readonly last: number }>;
}

/** `weekday`: 0 is Sunday. `week`: 1 to 4, or last. */
export type MaintenanceRecurrence =
  | { readonly kind: 'daily'; readonly every: number }
  | { readonly kind: 'weekly'; readonly every: number; readonly weekday: number }
  /** A month without that day has it on its last. */
  | { readonly kind: 'monthly'; readonly every: number; readonly day: number }
  | {
      readonly kind: 'weekday-of-month';
      readonly every: number;
      readonly weekday: number;
      readonly week: 1 | 2 | 3 | 4 | 'last';
    };
