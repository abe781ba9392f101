import { scaleCases } from './scale-cases.ts';

scaleCases('embedded', { pods: 300, shy: 60 });
