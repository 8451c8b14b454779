// A handle for the tables of the instance, or for those of a cell. It refuses the statements of the other, also where both
// are one database, so that code which confuses them fails before there are two.

import type { Db, Statement, Tx } from './db.ts'
import { type Home, homeOf } from './homes.ts'

const known = new WeakMap<Statement<unknown>, Home>()

function homeOfStatement(statement: Statement<unknown>): Home {
  const home = known.get(statement) ?? homeOf(statement.text)
  known.set(statement, home)
  return home
}

export function checkHome(db: Db, home: Exclude<Home, 'any'>): Db {
  const check = (statement: Statement<unknown>) => {
    const wanted = homeOfStatement(statement)
    if (wanted !== home && wanted !== 'any')
      throw new Error(`a handle of the ${home} was given a statement of the ${wanted}:\n${statement.text}`)
  }
  const checkedTx = <Handle extends Tx>(tx: Handle): Handle => ({
    ...tx,
    query: async (statement, values) => {
      check(statement)
      return tx.query(statement, values)
    },
  })
  return {
    ...checkedTx(db),
    transaction: (work, options) => db.transaction((tx) => work(checkedTx(tx)), options),
  }
}
