import { EN, type Texts } from './en.ts'

export const PT: Texts = { ...EN }
