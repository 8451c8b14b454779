import { line, NONE } from './line.ts'

/** The lines about the databases of merchants, where there are several. */
export const CELL_LINES = {
  'cell.copy_failed': line(
    'warn',
    'A change of a merchant could not be copied to its cell; a job repeats it.',
    'merchantId, cell, error',
    'Check the database of the cell.',
  ),
  'cell.move_failed': line(
    'warn',
    'A step of the move of a merchant to another cell has failed; it is repeated. The merchant works on.',
    'merchantId, error',
    'Read the problem with `cowry cells move`. Often a switch would have let writes wait too long.',
  ),
  'cell.opened': line('info', 'A cell is in use again.', 'cell', NONE),
  'cell.unavailable': line(
    'error',
    'A cell cannot be used: its merchants get 503, those of other cells are served.',
    'cell, error',
    'Check the database of the cell. It is opened as soon as it answers.',
  ),
  'process.announcement_failed': line(
    'warn',
    'The process could not announce itself to the others; it tries again.',
    'error',
    'Check the database. While a process is not announced, cells may be activated that it does not know.',
  ),
}
