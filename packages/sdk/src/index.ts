// The whole client.

export * from './core.ts'
export { Cowry } from './generated/client.ts'
export type * from './generated/resources.ts'
export type * from './generated/schemas.ts'
