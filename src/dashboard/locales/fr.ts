import { EN, type Texts } from './en.ts'

export const FR: Texts = { ...EN }
