/** Types of a library that has none. */
declare module "unix-crypt-td-js" {
  const crypt: (password: ReadonlyArray<number>, salt: string) => string
  export default crypt
}
