/** A view of the list of payments that a person has saved. */
export interface SavedView {
  uuid: string
  userId: string
  name: string
  /** As in an address, such as status=failed&currency=KES. */
  query: string
  isShared: boolean
}
