import { LostRaceError } from '../../ports/errors.ts';

/** Others write, too; losing five times in a row is not chance. */
const ATTEMPTS_MAX = 5;

/**
 * Does what reads and writes objects over again, at once, where somebody else wrote in between. The last loss is
 * thrown.
 */
export async function despiteRivals<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      // Each try reads what the last one lost to.
      return await work();
    } catch (error) {
      if (!(error instanceof LostRaceError) || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}
