import { EN, type Texts } from './en.ts'

export const SW: Texts = { ...EN }
