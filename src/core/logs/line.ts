// One kind of line in the log.

export type LineLevel = 'debug' | 'info' | 'warn' | 'error'

export interface LogLineDefinition {
  level: LineLevel
  message: string
  /** The fields that the line may carry; an error adds error, stack and sqlState. */
  fields: string
  /** What an operator does when the line appears. */
  action: string
}

export const NONE = 'Nothing.'

export function line(level: LineLevel, message: string, fields: string, action: string): LogLineDefinition {
  return { level, message, fields, action }
}
