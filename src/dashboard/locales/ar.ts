import { EN, type Texts } from './en.ts'

export const AR: Texts = { ...EN }
