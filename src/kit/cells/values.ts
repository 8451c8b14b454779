// Values that are looked up before their merchant is known contain the number of the merchant's cell, so that no table for all
// cells is needed. Those of cell 0 look as if there were no cells.

const CODE_LENGTH = 2

/** Two characters before the code of a cell other than 0. */
export function withCell(code: string, cell = 0): string {
  return cell === 0 ? code : `${cell.toString(36).padStart(CODE_LENGTH, '0')}${code}`
}

/** The cell of a code that has this length without one. */
export function cellOfCode(code: string, length: number): number {
  if (code.length !== length + CODE_LENGTH) return 0
  const digits = code.slice(0, CODE_LENGTH)
  return /^[0-9a-z]{2}$/.test(digits) ? Number.parseInt(digits, 36) : 0
}

// A random UUID ends like this once in four billion.
const MARK = 'c0e11ce1'

/** The UUIDv4 with the cell in its last bits; 74 random ones are left. */
export function markUuid(uuid: string, cell = 0): string {
  return cell === 0 ? uuid : `${uuid.slice(0, 24)}${MARK}${cell.toString(16).padStart(4, '0')}`
}

export function cellOfUuid(uuid: string): number {
  return uuid.slice(24, 32) === MARK ? Number.parseInt(uuid.slice(32), 16) : 0
}
