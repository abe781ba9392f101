import { ArmError } from '../arm/arm-error.ts';
import { objectAt, type JsonObject } from '../arm/json.ts';

/** Learn "Use tags to organize your Azure resources": pairs on a resource, characters of a name and of a value. */
const LIMITS = { pairs: 50, name: 512, value: 256 } as const;

/** Reserved in names, as are control characters. Values may have all. */
const RESERVED = /[<>%&\\?/\p{Cc}]/u;

/**
 * Refuses tags that ARM does not keep. Codes as azure-powershell's Az.Migrate has them from ARM; that of too many is
 * assumed.
 */
export function refuseOddTags(body: JsonObject): void {
  const pairs = Object.entries(objectAt(body, 'tags'));
  const list = (names: ReadonlyArray<string>): string => `'${names.join(', ')}'`;
  if (pairs.length > LIMITS.pairs)
    throw refused('InvalidTags', `The resource has ${pairs.length} tags. A resource can have ${LIMITS.pairs}.`);
  const reserved = pairs.map(([name]) => name).filter((name) => name === '' || RESERVED.test(name));
  if (reserved.length > 0)
    throw refused(
      'InvalidTagNameCharacters',
      `The tag names ${list(reserved)} have reserved characters '<,>,%,&,\\,?,/' or control characters.`,
    );
  const long = pairs.map(([name]) => name).filter((name) => name.length > LIMITS.name);
  if (long.length > 0)
    throw refused(
      'InvalidTagName',
      `Tag name too large. Following tag name ${list(long)} exceeded the maximum length. ` +
        `Maximum allowed length for tag name - '${LIMITS.name}' characters.`,
    );
  const values = pairs.map(([, value]) => String(value)).filter((value) => value.length > LIMITS.value);
  if (values.length > 0)
    throw refused(
      'InvalidTagValueLength',
      `Tag value too large. Following tag value ${list(values)} exceeded the maximum length. ` +
        `Maximum allowed length for tag value - '${LIMITS.value}' characters.`,
    );
}

function refused(code: string, message: string): ArmError {
  return new ArmError(400, { code, message });
}
