import { idleCases } from './idle-cases.ts';

idleCases('embedded', 20_000);
